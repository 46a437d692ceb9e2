(class_declaration name: (type_identifier) @name) @symbol.class
(abstract_class_declaration name: (type_identifier) @name) @symbol.class
(class name: (type_identifier) @name) @symbol.class
(interface_declaration name: (type_identifier) @name) @symbol.interface
(enum_declaration name: (identifier) @name) @symbol.enum
(type_alias_declaration name: (type_identifier) @name) @symbol.type
(internal_module name: (_) @name) @symbol.module
(module name: (_) @name) @symbol.module
(function_signature name: (identifier) @name) @symbol.function
(method_signature name: (property_identifier) @name) @symbol.function
(abstract_method_signature name: (property_identifier) @name) @symbol.function
(program (ambient_declaration (_ (variable_declarator name: (identifier) @name) @symbol.constant)))
(program (export_statement (ambient_declaration (_ (variable_declarator name: (identifier) @name) @symbol.constant))))
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name
  value: (arrow_function)) @symbol.function
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name) @symbol.field
(interface_body (property_signature name: (property_identifier) @name) @symbol.field)

(extends_clause value: (identifier) @inherit)
(extends_clause value: (member_expression object: (_) @on property: (property_identifier) @inherit))
(implements_clause (type_identifier) @inherit)
(implements_clause (generic_type name: (type_identifier) @inherit))
(extends_type_clause type: (type_identifier) @inherit)
(extends_type_clause type: (generic_type name: (type_identifier) @inherit))
(nested_type_identifier module: (identifier) @on name: (type_identifier) @member)

(import_require_clause (identifier) @alias source: (string) @module)
