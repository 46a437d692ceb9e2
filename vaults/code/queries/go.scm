(function_declaration name: (identifier) @name) @symbol.function
(method_declaration receiver: (parameter_list (parameter_declaration type: (type_identifier) @of))
  name: (field_identifier) @name) @symbol.method
(method_declaration
  receiver: (parameter_list (parameter_declaration type: (pointer_type (type_identifier) @of)))
  name: (field_identifier) @name) @symbol.method
(method_declaration
  receiver: (parameter_list (parameter_declaration type: (pointer_type (generic_type type: (type_identifier) @of))))
  name: (field_identifier) @name) @symbol.method
(method_declaration
  receiver: (parameter_list (parameter_declaration type: (generic_type type: (type_identifier) @of)))
  name: (field_identifier) @name) @symbol.method
(type_declaration (type_spec name: (type_identifier) @name type: (struct_type)) @symbol.class)
(type_declaration (type_spec name: (type_identifier) @name type: (interface_type)) @symbol.interface)
(type_declaration (type_spec name: (type_identifier) @name) @symbol.type)
(type_declaration (type_alias name: (type_identifier) @name) @symbol.type)
(source_file (const_declaration (const_spec name: (identifier) @name) @symbol.constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @symbol.constant))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @symbol.constant)))
(method_elem name: (field_identifier) @name) @symbol.method
(field_declaration name: (field_identifier) @name) @symbol.field

(call_expression function: (identifier) @call)
(call_expression function: (selector_expression operand: (_) @on field: (field_identifier) @call))
(composite_literal type: (type_identifier) @call)
(composite_literal type: (qualified_type package: (package_identifier) @on name: (type_identifier) @call))
(qualified_type package: (package_identifier) @on name: (type_identifier) @member)
(selector_expression operand: (identifier) @on field: (field_identifier) @member)

(import_spec !name path: (interpreted_string_literal) @module)
(import_spec name: (package_identifier) @alias path: (interpreted_string_literal) @module)
(import_spec name: (blank_identifier) path: (interpreted_string_literal) @module)
(import_spec name: (dot) path: (interpreted_string_literal) @module)
