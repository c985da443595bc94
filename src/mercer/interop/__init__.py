"""Data of other libraries: a module here is loaded only when one of their objects arrives."""
