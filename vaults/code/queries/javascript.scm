(class_declaration name: (identifier) @name) @symbol.class
(class name: (identifier) @name) @symbol.class
(assignment_expression left: (member_expression object: (_) @of property: (property_identifier) @name)
  right: [(function_expression) (arrow_function)]) @symbol.function
(field_definition property: [(property_identifier) (private_property_identifier)] @name
  value: (arrow_function)) @symbol.function
(field_definition property: [(property_identifier) (private_property_identifier)] @name) @symbol.field

(class_heritage (identifier) @inherit)
(class_heritage (member_expression object: (_) @on property: (property_identifier) @inherit))

((variable_declarator
  name: (object_pattern (shorthand_property_identifier_pattern) @imported)
  value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @module)))
  (#eq? @_require "require"))
