(class_declaration name: (identifier) @name) @symbol.class
(record_declaration name: (identifier) @name) @symbol.class
(interface_declaration name: (identifier) @name) @symbol.interface
(annotation_type_declaration name: (identifier) @name) @symbol.interface
(enum_declaration name: (identifier) @name) @symbol.enum
(method_declaration name: (identifier) @name) @symbol.method
(constructor_declaration name: (identifier) @name) @symbol.method
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @symbol.field
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @symbol.constant
(enum_constant name: (identifier) @name) @symbol.field

(method_invocation !object name: (identifier) @call)
(method_invocation object: (_) @on name: (identifier) @call)
(object_creation_expression type: (type_identifier) @call)
(object_creation_expression type: (generic_type (type_identifier) @call))
(method_reference (identifier) @on . (identifier) @call)
(marker_annotation name: (identifier) @call)
(annotation name: (identifier) @call)
(superclass (type_identifier) @inherit)
(superclass (generic_type (type_identifier) @inherit))
(super_interfaces (type_list (type_identifier) @inherit))
(super_interfaces (type_list (generic_type (type_identifier) @inherit)))
(extends_interfaces (type_list (type_identifier) @inherit))
(extends_interfaces (type_list (generic_type (type_identifier) @inherit)))
(field_access object: (identifier) @on field: (identifier) @member)

(import_declaration (scoped_identifier scope: (_) @module name: (identifier) @imported) .)
(import_declaration (scoped_identifier) @module (asterisk) @imported)
