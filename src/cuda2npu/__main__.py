"""``python -m cuda2npu``."""

from cuda2npu.cli.main import main

if __name__ == "__main__":
    main()
