/**
 * Sets a member by a name that a sender chose. Assigned, a member named `__proto__` would replace the object's prototype and be
 * lost from its JSON. Object literals, spread and `Object.fromEntries` have no such exception; `Object.assign` has.
 */
export function setOwn<V>(target: { [name: string]: V }, name: string, value: V): void {
  if (name === '__proto__')
    Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true })
  else target[name] = value
}

/** Sets all members of another object, under whatever names. */
export function assignOwn<V>(target: { [name: string]: V }, source: { readonly [name: string]: V }): void {
  for (const name of Object.keys(source)) setOwn(target, name, source[name] as V)
}
