"""Options: each declared once, with its kind and one sentence of help; whoever reads values of it derives the rest."""
