(function_definition name: (word) @name) @symbol.function
(program (variable_assignment name: (variable_name) @name) @symbol.constant)
(program (declaration_command (variable_assignment name: (variable_name) @name) @symbol.constant))

(command name: (command_name (word) @call))
((command name: (command_name (word) @_source) . argument: (_) @module) (#any-of? @_source "source" "."))
