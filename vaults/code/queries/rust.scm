(mod_item name: (identifier) @name body: (declaration_list)) @symbol.module
(struct_item name: (type_identifier) @name) @symbol.class
(union_item name: (type_identifier) @name) @symbol.class
(enum_item name: (type_identifier) @name) @symbol.enum
(trait_item name: (type_identifier) @name) @symbol.interface
(type_item name: (type_identifier) @name) @symbol.type
(function_item name: (identifier) @name) @symbol.function
(function_signature_item name: (identifier) @name) @symbol.function
(macro_definition name: (identifier) @name) @symbol.function
(const_item name: (identifier) @name) @symbol.constant
(static_item name: (identifier) @name) @symbol.constant
(field_declaration name: (field_identifier) @name) @symbol.field
(enum_variant name: (identifier) @name) @symbol.field
(impl_item type: (type_identifier) @name) @scope.class
(impl_item type: (generic_type type: (type_identifier) @name)) @scope.class
(impl_item type: (scoped_type_identifier name: (type_identifier) @name)) @scope.class

(call_expression function: (identifier) @call)
(call_expression function: (scoped_identifier path: (_) @on name: (identifier) @call))
(call_expression function: (field_expression value: (_) @on field: (field_identifier) @call))
(call_expression function: (generic_function function: (identifier) @call))
(call_expression function: (generic_function function: (scoped_identifier path: (_) @on name: (identifier) @call)))
(macro_invocation macro: (identifier) @call)
(struct_expression name: (type_identifier) @call)
(impl_item trait: (type_identifier) @inherit)
(impl_item trait: (generic_type type: (type_identifier) @inherit))
(impl_item trait: (scoped_type_identifier path: (_) @on name: (type_identifier) @inherit))
(scoped_identifier path: (identifier) @on name: (identifier) @member)
(scoped_type_identifier path: (identifier) @on name: (type_identifier) @member)

(use_declaration argument: (identifier) @module)
(use_declaration argument: (scoped_identifier path: (_) @module name: (_) @imported))
(use_declaration argument: (use_wildcard (_) @module) @imported)
(use_declaration argument: (use_as_clause path: (scoped_identifier path: (_) @module name: (_) @imported)
  alias: (identifier) @alias))
(scoped_use_list path: (_) @module list: (use_list (identifier) @imported))
(scoped_use_list path: (_) @module
  list: (use_list (use_as_clause path: (identifier) @imported alias: (identifier) @alias)))
(scoped_use_list path: (_) @module list: (use_list (scoped_identifier name: (_) @imported)))
(mod_item name: (identifier) @module !body)
