"""Where rows may live besides memory."""
