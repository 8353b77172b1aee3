/** Misbehaviours of a function that a host supplies. */
export const behaviours = [
  'throws',
  'rejects',
  'never settles',
  'resolves late',
  'returns garbage',
  'resolves to garbage',
  'returns a promise',
] as const
export type Behaviour = (typeof behaviours)[number]

/**
 * Time limits of the gateways under test in milliseconds: `callbackMs`, and `firstByteMs` for functions that it bounds.
 */
export const callbackMs = 25
export const firstByteMs = 200
/**
 * Steps until a late promise resolves: after both limits, even if the event loop was blocked and many timers are due at
 * once.
 */
const lateSteps = 6
const stepMs = 80

async function lateness(): Promise<void> {
  for (let step = 0; step < lateSteps; step++) await new Promise((resolve) => setTimeout(resolve, stepMs))
}

/** Waits until every late promise of a cell has resolved and its effects are done. */
export const afterLateness = async (): Promise<void> => {
  await lateness()
  await new Promise((resolve) => setTimeout(resolve, 2 * stepMs))
}

/** One subject with one behaviour. */
export interface Cell {
  readonly behaviour: Behaviour
  /** The returned value, for behaviours with garbage. */
  readonly garbage: unknown
  /** True if the function's result is valid and must be used: a valid value in an allowed promise. */
  readonly works: boolean
  /** Replaces a function by one with the behaviour. `good` is called only for behaviours that use its result. */
  misbehave<A extends unknown[]>(good: (...args: A) => unknown): (...args: A) => never
}

/** A function that a host supplies, with an attempt to use a gateway with it. */
export interface Subject {
  readonly name: string
  /** True if a promise is awaited; otherwise its value must be ignored. */
  readonly awaited: boolean
  /** Values that must not be accepted as a result. */
  readonly garbage: readonly unknown[]
  /** Uses a gateway and resolves to the defects; an empty list is correct. */
  attempt(cell: Cell): Promise<readonly string[]>
}

function act<A extends unknown[]>(
  name: string,
  { behaviour, garbage }: Pick<Cell, 'behaviour' | 'garbage'>,
  good: (...args: A) => unknown,
  args: A,
): unknown {
  const failure = new Error(`${name} ${behaviour}`)
  switch (behaviour) {
    case 'throws':
      throw failure
    case 'rejects':
      return Promise.reject(failure)
    case 'never settles':
      return new Promise(() => {})
    case 'resolves late':
      return lateness().then(() => good(...args))
    case 'returns garbage':
      return garbage
    case 'resolves to garbage':
      return Promise.resolve(garbage)
    case 'returns a promise':
      return Promise.resolve(good(...args))
  }
}

/** Returns every cell of a subject: one per behaviour, and per value of garbage. */
export function cellsOf({ name, awaited, garbage }: Subject): readonly Cell[] {
  const cellOf = (behaviour: Behaviour, value: unknown): Cell => ({
    behaviour,
    garbage: value,
    works: awaited && behaviour === 'returns a promise',
    misbehave:
      <A extends unknown[]>(good: (...args: A) => unknown) =>
      (...args: A) =>
        act(name, { behaviour, garbage: value }, good, args) as never,
  })
  return behaviours.flatMap((behaviour) => {
    // Without an await, the resolved value makes no difference.
    if (behaviour === 'resolves to garbage' && !awaited) return []
    const values = behaviour.endsWith('garbage') ? garbage : [undefined]
    return values.map((value) => cellOf(behaviour, value))
  })
}
