"""Programs on partitions, by supersteps: on one worker, on many, through losses of workers."""
