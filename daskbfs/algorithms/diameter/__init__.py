"""Diameter and eccentricities: the functions, the bounds behind them, and what they return."""
