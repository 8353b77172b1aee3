import type { Env } from '../world.ts'
import { isRecord } from './is-record.ts'

const variable = /\$(\$\{)|\$\{([^}]*)\}/g

/**
 * The same data with `${NAME}` and `${NAME:-default}` in its texts replaced from the environment; `$${` stands for `${`. A variable
 * that is set to nothing is not set. Throws an Error that names the variable and the place.
 */
export function expand(data: unknown, env: Env, where = ''): unknown {
  if (typeof data === 'string') return expandText(data, env, where)
  if (Array.isArray(data)) return data.map((one, at) => expand(one, env, `${where}[${at}]`))
  if (!isRecord(data)) return data
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, expand(value, env, where === '' ? name : `${where}.${name}`)]),
  )
}

const expandText = (text: string, env: Env, where: string): string =>
  text.replace(variable, (whole, escaped: string | undefined, inside = '') => {
    if (escaped !== undefined) return escaped
    const [, name = '', , otherwise] = /^([A-Za-z_]\w*)(:-(.*))?$/s.exec(inside) ?? []
    if (name === '') throw new Error(`${where} holds ${whole}: write \${NAME} or \${NAME:-default}`)
    const value = env[name] || otherwise
    if (value === undefined)
      throw new Error(
        `${where} takes ${name} from the environment, where it is not set: export ${name}=…, write it into .env, or give a default, \${${name}:-…}`,
      )
    return value
  })
