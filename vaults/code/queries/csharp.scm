(class_declaration name: (identifier) @name) @symbol.class
(struct_declaration name: (identifier) @name) @symbol.class
(record_declaration name: (identifier) @name) @symbol.class
(interface_declaration name: (identifier) @name) @symbol.interface
(enum_declaration name: (identifier) @name) @symbol.enum
(delegate_declaration name: (identifier) @name) @symbol.type
(method_declaration name: (identifier) @name) @symbol.method
(constructor_declaration name: (identifier) @name) @symbol.method
(local_function_statement name: (identifier) @name) @symbol.function
(property_declaration name: (identifier) @name) @symbol.field
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @symbol.field
(enum_member_declaration name: (identifier) @name) @symbol.field

(invocation_expression function: (identifier) @call)
(invocation_expression function: (generic_name (identifier) @call))
(invocation_expression function: (member_access_expression expression: (_) @on name: (identifier) @call))
(invocation_expression
  function: (member_access_expression expression: (_) @on name: (generic_name (identifier) @call)))
(object_creation_expression type: (identifier) @call)
(object_creation_expression type: (generic_name (identifier) @call))
(attribute name: (identifier) @call)
(base_list (identifier) @inherit)
(base_list (generic_name (identifier) @inherit))
(member_access_expression expression: (identifier) @on name: (identifier) @member)

(using_directive (qualified_name) @module)
(using_directive (identifier) @module)
