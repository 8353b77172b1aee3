import type { Codec } from '../codec.ts'

type Pointers = Codec['fieldPointers']

/**
 * The field that an upstream's error names (`max_tokens`, `generation_config.temperature`, `tools[0].name`), in the terms of
 * a client of another format, as far as the two tables know it. Undefined where they do not: a path into the body that was
 * sent upstream would lead a client astray in its own.
 *
 * @param at where the client's request had its fields, if that is known better than by its format's table
 */
export function translateParam(
  param: string,
  upstream: Pointers,
  client: Pointers,
  at: { readonly [irField: string]: string } = {},
): string | undefined {
  const wanted = plain(`/${param.replace(/\[(\w+)\]/g, '.$1').replaceAll('.', '/')}`)
  // A group and its first member may stand in the same place: the longer name says more.
  const fields = Object.keys(upstream)
    .filter((field) => plain(upstream[field] ?? '') === wanted)
    .sort((a, b) => b.length - a.length)
  for (const field of fields) {
    const pointer = at[field] ?? client[field]
    if (pointer !== undefined) return pointer.slice(1).replaceAll('/', '.')
  }
  return undefined
}

/** Some servers write in snake_case what they take in camelCase. */
const plain = (pointer: string): string => pointer.replaceAll('_', '').toLowerCase()
