"""Edges: parse, call one step, render. No rule lives here."""
