"""A saved model behind HTTP: `sklar serve model.sklar`. Needs the extra `serve`."""
