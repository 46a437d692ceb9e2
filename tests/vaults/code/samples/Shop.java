package org.example.shop;

import java.util.List;
import static org.example.prices.Prices.find;
import org.example.stock.*;

/**
 * Sells things.
 */
@Service
public class Shop extends Base<String> implements Seller, Runnable {
    private static final int LIMIT = 5;

    public Shop(String name) { super(name); }

    /** Sells a thing. */
    @Override
    public int sell(String what) {
        return find(what) + stock.level(what);
    }

    enum Size { SMALL, LARGE }
}

interface Seller {
    int sell(String what);
}

record Price(int cents) {}
