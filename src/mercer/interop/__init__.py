"""Data of other libraries. A module here is loaded only when one of their objects arrives; nothing is imported before."""
