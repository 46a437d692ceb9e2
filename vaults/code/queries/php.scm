(class_declaration name: (name) @name) @symbol.class
(interface_declaration name: (name) @name) @symbol.interface
(trait_declaration name: (name) @name) @symbol.interface
(enum_declaration name: (name) @name) @symbol.enum
(function_definition name: (name) @name) @symbol.function
(method_declaration name: (name) @name) @symbol.method
(const_declaration (const_element (name) @name)) @symbol.constant
(property_declaration (property_element (variable_name (name) @name))) @symbol.field
(enum_case name: (name) @name) @symbol.field

(function_call_expression function: (name) @call)
(function_call_expression function: (qualified_name (namespace_name) @on (name) @call))
(member_call_expression object: (_) @on name: (name) @call)
(nullsafe_member_call_expression object: (_) @on name: (name) @call)
(scoped_call_expression scope: (_) @on name: (name) @call)
(object_creation_expression (name) @call)
(base_clause (name) @inherit)
(class_interface_clause (name) @inherit)
(use_declaration (name) @inherit)
(class_constant_access_expression . (name) @on (name) @member)

(namespace_use_clause (qualified_name prefix: (_) @module (name) @imported) !alias)
(namespace_use_clause (qualified_name prefix: (_) @module (name) @imported) alias: (name) @alias)
(namespace_use_clause . (name) @module .)
(require_once_expression (_) @module)
(require_expression (_) @module)
(include_expression (_) @module)
