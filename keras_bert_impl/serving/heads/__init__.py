"""Servables, one for each head."""
