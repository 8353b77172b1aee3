import { moderations } from './moderations.ts'
import type { Dialect, Operation, OperationName } from './operation.ts'

/** Every operation beside chat. A new one adds itself here and to the routes. */
export const operations: { readonly [O in OperationName]?: Operation<unknown, unknown> } = { moderations }

/** The operation of a route and the dialect of its clients. Throws for a route whose operation is not there. */
export function operationOf(
  name: OperationName,
  dialectName: string | undefined,
): { readonly operation: Operation<unknown, unknown>; readonly dialect: Dialect<unknown, unknown> } {
  const operation = operations[name]
  const dialect = operation?.dialects.find((one) => one.name === dialectName)
  if (operation === undefined || dialect?.validate === undefined)
    throw new TypeError(`No operation '${name}' in the dialect '${dialectName}'`)
  return { operation, dialect }
}
