(function_declaration name: (identifier) @name) @symbol.function
(function_declaration name: (dot_index_expression table: (_) @of field: (identifier) @name)) @symbol.function
(function_declaration name: (method_index_expression table: (_) @of method: (identifier) @name)) @symbol.function
(assignment_statement (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition))) @symbol.function
(chunk (variable_declaration (assignment_statement (variable_list . name: (identifier) @name))) @symbol.constant)

(function_call name: (identifier) @call)
(function_call name: (dot_index_expression table: (_) @on field: (identifier) @call))
(function_call name: (method_index_expression table: (_) @on method: (identifier) @call))
((assignment_statement (variable_list . name: (identifier) @alias)
  (expression_list . value: (function_call name: (identifier) @_require
    arguments: (arguments . (string content: (string_content) @module)))))
  (#eq? @_require "require"))
