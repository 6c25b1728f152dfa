"""Records what a program computes, in processes of their own, without changing it."""
