use crate::prices::{find_price, Tax as Levy};
use std::collections::HashMap;

/// How many at most.
pub const LIMIT: usize = 5;

/// Sells things.
#[derive(Debug)]
pub struct Shop<T> {
    name: String,
}

pub enum Size { Small, Large }

pub trait Seller {
    fn sell(&self, what: &str) -> u32;
}

impl<T> Seller for Shop<T> {
    /// Sells a thing.
    fn sell(&self, what: &str) -> u32 {
        println!("{}", what);
        find_price(what) + self.count()
    }
}

mod tools {
    pub fn round(x: f64) -> f64 { x }
}

macro_rules! twice { ($x:expr) => { $x; $x } }

fn main() {
    let shop = Shop::<u8> { name: String::new() };
    tools::round(1.0);
}
