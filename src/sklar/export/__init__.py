"""Ways out of a fitted model: its own file format, ONNX graphs, shap explanations."""
