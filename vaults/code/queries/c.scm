(function_definition declarator: (function_declarator declarator: (identifier) @name)) @symbol.function
(function_definition
  declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @symbol.function
(function_definition declarator: (pointer_declarator
  declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))) @symbol.function
(struct_specifier name: (type_identifier) @name body: (_)) @symbol.class
(union_specifier name: (type_identifier) @name body: (_)) @symbol.class
(enum_specifier name: (type_identifier) @name body: (_)) @symbol.enum
(type_definition declarator: (type_identifier) @name) @symbol.type
(type_definition declarator: (pointer_declarator declarator: (type_identifier) @name)) @symbol.type
(type_definition declarator: (function_declarator
  declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))) @symbol.type
(preproc_def name: (identifier) @name) @symbol.constant
(preproc_function_def name: (identifier) @name) @symbol.function
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @symbol.constant)
(translation_unit (declaration
  declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @name))) @symbol.constant)
(enumerator name: (identifier) @name) @symbol.field

(call_expression function: (identifier) @call)
(call_expression function: (field_expression argument: (_) @on field: (field_identifier) @call))
(preproc_include path: [(string_literal) (system_lib_string)] @module)
