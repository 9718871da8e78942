"""The Gymnasium environments as other libraries ask for them: a module each, which needs that library and nothing more."""
