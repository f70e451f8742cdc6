"""Every table and figure of the paper, as data: specs say what, the runner measures rows, results reads them."""
