(class_definition name: (identifier) @name) @symbol.class
(function_definition name: (identifier) @name) @symbol.function
(module (expression_statement (assignment left: (identifier) @name) @symbol.constant))
(module (expression_statement (assignment left: (pattern_list (identifier) @name)) @symbol.constant))
(module (if_statement (block (expression_statement (assignment left: (identifier) @name) @symbol.constant))))
(module (type_alias_statement left: (type (identifier) @name)) @symbol.type)
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @symbol.field)))
(module . (comment)* . (expression_statement (string) @doc))
(class_definition body: (block . (expression_statement (string) @doc)))
(function_definition body: (block . (expression_statement (string) @doc)))

(call function: (identifier) @call)
(call function: (attribute object: (_) @on attribute: (identifier) @call))
(decorator (identifier) @call)
(decorator (attribute object: (_) @on attribute: (identifier) @call))
(class_definition superclasses: (argument_list (identifier) @inherit))
(class_definition superclasses: (argument_list (attribute object: (_) @on attribute: (identifier) @inherit)))
(class_definition superclasses: (argument_list (subscript value: (identifier) @inherit)))
(attribute object: (identifier) @on attribute: (identifier) @member)

(import_statement name: (dotted_name) @module)
(import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @alias))
(import_from_statement module_name: (_) @module name: (dotted_name) @imported)
(import_from_statement module_name: (_) @module
  name: (aliased_import name: (dotted_name) @imported alias: (identifier) @alias))
(import_from_statement module_name: (_) @module (wildcard_import) @imported)
