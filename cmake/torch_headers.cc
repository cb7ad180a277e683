// Nothing but the precompiled headers of libtorch, which all modules on top of it share (dependency_torch.cmake).
