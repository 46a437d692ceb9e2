(function_declaration name: (identifier) @name) @symbol.function
(generator_function_declaration name: (identifier) @name) @symbol.function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @symbol.function
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @symbol.function
(variable_declarator name: (identifier) @name value: (class)) @symbol.class
(program (_ (variable_declarator name: (identifier) @name) @symbol.constant))
(program (export_statement (_ (variable_declarator name: (identifier) @name) @symbol.constant)))

(call_expression function: (identifier) @call)
(call_expression function: (member_expression object: (_) @on property: (property_identifier) @call))
(new_expression constructor: (identifier) @call)
(new_expression constructor: (member_expression object: (_) @on property: (property_identifier) @call))
(member_expression object: (identifier) @on property: (property_identifier) @member)

(import_statement (import_clause (identifier) @alias) source: (string) @module)
(import_statement (import_clause (namespace_import (identifier) @alias)) source: (string) @module)
(import_statement
  (import_clause (named_imports (import_specifier name: (_) @imported !alias))) source: (string) @module)
(import_statement
  (import_clause (named_imports (import_specifier name: (_) @imported alias: (identifier) @alias)))
  source: (string) @module)
(import_statement . "import" . source: (string) @module)
(export_statement (export_clause (export_specifier name: (_) @imported !alias)) source: (string) @module)
(export_statement
  (export_clause (export_specifier name: (_) @imported alias: (_) @alias)) source: (string) @module)
(export_statement "*" @imported source: (string) @module)
((variable_declarator name: (identifier) @alias
  value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @module)))
  (#eq? @_require "require"))
