"""Objects of other systems, made from profiles and settings. Pure: values in, values out; printing is the CLI's."""
