(class_declaration name: (type_identifier) @name) @symbol.class
(abstract_class_declaration name: (type_identifier) @name) @symbol.class
(class name: (type_identifier) @name) @symbol.class
(interface_declaration name: (type_identifier) @name) @symbol.interface
(enum_declaration name: (identifier) @name) @symbol.enum
(type_alias_declaration name: (type_identifier) @name) @symbol.type
(internal_module name: (_) @name) @symbol.module
(module name: (_) @name) @symbol.module
(function_declaration name: (identifier) @name) @symbol.function
(function_signature name: (identifier) @name) @symbol.function
(generator_function_declaration name: (identifier) @name) @symbol.function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @symbol.function
(method_signature name: (property_identifier) @name) @symbol.function
(abstract_method_signature name: (property_identifier) @name) @symbol.function
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @symbol.function
(variable_declarator name: (identifier) @name value: (class)) @symbol.class
(program (_ (variable_declarator name: (identifier) @name) @symbol.constant))
(program (export_statement (_ (variable_declarator name: (identifier) @name) @symbol.constant)))
(program (ambient_declaration (_ (variable_declarator name: (identifier) @name) @symbol.constant)))
(program (export_statement (ambient_declaration (_ (variable_declarator name: (identifier) @name) @symbol.constant))))
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name
  value: (arrow_function)) @symbol.function
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name) @symbol.field
(interface_body (property_signature name: (property_identifier) @name) @symbol.field)

(call_expression function: (identifier) @call)
(call_expression function: (member_expression object: (_) @on property: (property_identifier) @call))
(new_expression constructor: (identifier) @call)
(new_expression constructor: (member_expression object: (_) @on property: (property_identifier) @call))
(extends_clause value: (identifier) @inherit)
(extends_clause value: (member_expression object: (_) @on property: (property_identifier) @inherit))
(implements_clause (type_identifier) @inherit)
(implements_clause (generic_type name: (type_identifier) @inherit))
(extends_type_clause type: (type_identifier) @inherit)
(extends_type_clause type: (generic_type name: (type_identifier) @inherit))
(member_expression object: (identifier) @on property: (property_identifier) @member)
(nested_type_identifier module: (identifier) @on name: (type_identifier) @member)

(import_statement (import_clause (identifier) @alias) source: (string) @module)
(import_statement (import_clause (namespace_import (identifier) @alias)) source: (string) @module)
(import_statement
  (import_clause (named_imports (import_specifier name: (_) @imported !alias))) source: (string) @module)
(import_statement
  (import_clause (named_imports (import_specifier name: (_) @imported alias: (identifier) @alias)))
  source: (string) @module)
(import_statement . "import" . source: (string) @module)
(import_require_clause (identifier) @alias source: (string) @module)
(export_statement (export_clause (export_specifier name: (_) @imported !alias)) source: (string) @module)
(export_statement
  (export_clause (export_specifier name: (_) @imported alias: (_) @alias)) source: (string) @module)
(export_statement "*" @imported source: (string) @module)
((variable_declarator name: (identifier) @alias
  value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @module)))
  (#eq? @_require "require"))
