const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const pool = new Uint8Array(4096)
let used = pool.length

/** A unique id: the prefix and 22 letters and digits (131 bits). Random bytes are drawn in bulk, which is what costs. */
export function newId(prefix: string): string {
  let id = prefix
  for (let left = 22; left > 0; ) {
    if (used === pool.length) {
      crypto.getRandomValues(pool)
      used = 0
    }
    const value = (pool[used++] as number) & 63
    if (value >= alphabet.length) continue
    id += alphabet[value]
    left--
  }
  return id
}
