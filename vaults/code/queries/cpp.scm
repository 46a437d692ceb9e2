(namespace_definition name: (_) @name) @symbol.module
(class_specifier name: (_) @name body: (_)) @symbol.class
(struct_specifier name: (_) @name body: (_)) @symbol.class
(union_specifier name: (_) @name body: (_)) @symbol.class
(enum_specifier name: (_) @name body: (_)) @symbol.enum
(alias_declaration name: (type_identifier) @name) @symbol.type
(type_definition declarator: (type_identifier) @name) @symbol.type
(concept_definition name: (identifier) @name) @symbol.type
(function_definition declarator: (function_declarator declarator: (_) @name)) @symbol.function
(function_definition declarator: (pointer_declarator (function_declarator declarator: (_) @name))) @symbol.function
(function_definition declarator: (reference_declarator (function_declarator declarator: (_) @name))) @symbol.function
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @symbol.method
(preproc_def name: (identifier) @name) @symbol.constant
(preproc_function_def name: (identifier) @name) @symbol.function
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @symbol.constant)
(namespace_definition body: (declaration_list
  (declaration declarator: (init_declarator declarator: (identifier) @name)) @symbol.constant))
(field_declaration declarator: (field_identifier) @name) @symbol.field
(enumerator name: (identifier) @name) @symbol.field

(call_expression function: (identifier) @call)
(call_expression function: (field_expression argument: (_) @on field: (field_identifier) @call))
(call_expression function: (qualified_identifier scope: (_) @on name: (identifier) @call))
(call_expression function: (template_function name: (identifier) @call))
(new_expression type: (type_identifier) @call)
(base_class_clause (type_identifier) @inherit)
(base_class_clause (template_type name: (type_identifier) @inherit))
(base_class_clause (qualified_identifier scope: (_) @on name: (type_identifier) @inherit))
(qualified_identifier scope: (namespace_identifier) @on name: (_) @member)

(preproc_include path: [(string_literal) (system_lib_string)] @module)
(using_declaration (qualified_identifier scope: (_) @module name: (identifier) @imported))
