"""What the model may ask for: arguments, class, attributes and how reads run."""
