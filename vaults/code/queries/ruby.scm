(module name: (_) @name) @symbol.module
(class name: (_) @name) @symbol.class
(method name: (_) @name) @symbol.function
(singleton_method name: (_) @name) @symbol.function
(assignment left: (constant) @name) @symbol.constant

(call !receiver method: (identifier) @call)
(call receiver: (_) @on method: [(identifier) (constant)] @call)
(superclass (constant) @inherit)
(superclass (scope_resolution scope: (_) @on name: (constant) @inherit))
((call !receiver method: (identifier) @_include arguments: (argument_list (constant) @inherit))
  (#any-of? @_include "include" "extend" "prepend"))
((call !receiver method: (identifier) @_require arguments: (argument_list . (string (string_content) @module)))
  (#any-of? @_require "require" "require_relative" "load" "autoload"))
