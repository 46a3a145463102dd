"""The doctor: looks at everything the desk stands on and says what to do about what is wrong."""
