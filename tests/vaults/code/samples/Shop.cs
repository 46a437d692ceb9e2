using System;
using Market.Prices;

namespace Market
{
    /// <summary>Sells things.</summary>
    [Serializable]
    public class Shop : Base, ISeller
    {
        public string Name { get; set; }
        public Shop(string name) { Name = name; }
        /// <summary>Sells a thing.</summary>
        public int Sell(string what) => Finder.Find(what) + Count(what);
    }

    public interface ISeller { int Sell(string what); }
    public enum Size { Small, Large }
    public record Price(int Cents);
}
