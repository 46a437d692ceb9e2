(class_definition name: (identifier) @name) @symbol.class
(object_definition name: (identifier) @name) @symbol.class
(trait_definition name: (identifier) @name) @symbol.interface
(enum_definition name: (identifier) @name) @symbol.enum
(type_definition name: (type_identifier) @name) @symbol.type
(function_definition name: (identifier) @name) @symbol.function
(function_declaration name: (identifier) @name) @symbol.function
(template_body (val_definition pattern: (identifier) @name) @symbol.field)
(compilation_unit (val_definition pattern: (identifier) @name) @symbol.constant)

(call_expression function: (identifier) @call)
(call_expression function: (field_expression value: (_) @on field: (identifier) @call))
(call_expression function: (generic_function function: (identifier) @call))
(instance_expression (type_identifier) @call)
(extends_clause type: (type_identifier) @inherit)
(extends_clause type: (generic_type type: (type_identifier) @inherit))
(field_expression value: (identifier) @on field: (identifier) @member)

(import_declaration) @statement
