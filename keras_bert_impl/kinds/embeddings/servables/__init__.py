"""Servables of vectors."""
