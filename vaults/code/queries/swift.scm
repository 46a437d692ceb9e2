(class_declaration "class" name: (type_identifier) @name) @symbol.class
(class_declaration "struct" name: (type_identifier) @name) @symbol.class
(class_declaration "actor" name: (type_identifier) @name) @symbol.class
(class_declaration "enum" name: (type_identifier) @name) @symbol.enum
(class_declaration "extension" name: (user_type (type_identifier) @name)) @scope.class
(protocol_declaration name: (type_identifier) @name) @symbol.interface
(typealias_declaration name: (type_identifier) @name) @symbol.type
(function_declaration name: (simple_identifier) @name) @symbol.function
(protocol_function_declaration name: (simple_identifier) @name) @symbol.function
(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @symbol.constant)
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @symbol.field)
(enum_entry name: (simple_identifier) @name) @symbol.field

(call_expression . (simple_identifier) @call)
(call_expression . (navigation_expression target: (_) @on
  suffix: (navigation_suffix suffix: (simple_identifier) @call)))
(inheritance_specifier inherits_from: (user_type (type_identifier) @inherit))
(navigation_expression target: (simple_identifier) @on
  suffix: (navigation_suffix suffix: (simple_identifier) @member))

(import_declaration (identifier) @module)
