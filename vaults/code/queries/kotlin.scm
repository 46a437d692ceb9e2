(class_declaration "interface" name: (identifier) @name) @symbol.interface
(class_declaration (modifiers (class_modifier "enum")) name: (identifier) @name) @symbol.enum
(class_declaration name: (identifier) @name) @symbol.class
(object_declaration name: (identifier) @name) @symbol.class
(type_alias type: (identifier) @name) @symbol.type
(function_declaration name: (identifier) @name) @symbol.function
(source_file (property_declaration (variable_declaration (identifier) @name)) @symbol.constant)
(class_body (property_declaration (variable_declaration (identifier) @name)) @symbol.field)
(class_parameter (identifier) @name) @symbol.field
(enum_entry (identifier) @name) @symbol.field

(call_expression . (identifier) @call)
(call_expression . (navigation_expression (_) @on (identifier) @call .))
(delegation_specifier (user_type (identifier) @inherit))
(delegation_specifier (constructor_invocation (user_type (identifier) @inherit)))
(navigation_expression . (identifier) @on (identifier) @member)

(import (qualified_identifier) @module)
(import (qualified_identifier) @module "*" @imported)
(import (qualified_identifier) @module "as" (identifier) @alias)
