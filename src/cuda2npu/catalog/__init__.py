"""What is rewritten: the rules of ``rules/`` and the API tables of torch_npu."""
