(class_declaration name: (identifier) @name) @symbol.class
(class name: (identifier) @name) @symbol.class
(function_declaration name: (identifier) @name) @symbol.function
(generator_function_declaration name: (identifier) @name) @symbol.function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @symbol.function
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @symbol.function
(variable_declarator name: (identifier) @name value: (class)) @symbol.class
(assignment_expression left: (member_expression object: (_) @of property: (property_identifier) @name)
  right: [(function_expression) (arrow_function)]) @symbol.function
(program (_ (variable_declarator name: (identifier) @name) @symbol.constant))
(program (export_statement (_ (variable_declarator name: (identifier) @name) @symbol.constant)))
(field_definition property: [(property_identifier) (private_property_identifier)] @name
  value: (arrow_function)) @symbol.function
(field_definition property: [(property_identifier) (private_property_identifier)] @name) @symbol.field

(call_expression function: (identifier) @call)
(call_expression function: (member_expression object: (_) @on property: (property_identifier) @call))
(new_expression constructor: (identifier) @call)
(new_expression constructor: (member_expression object: (_) @on property: (property_identifier) @call))
(jsx_opening_element name: (identifier) @call)
(jsx_self_closing_element name: (identifier) @call)
(class_heritage (identifier) @inherit)
(class_heritage (member_expression object: (_) @on property: (property_identifier) @inherit))
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
((variable_declarator
  name: (object_pattern (shorthand_property_identifier_pattern) @imported)
  value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @module)))
  (#eq? @_require "require"))
