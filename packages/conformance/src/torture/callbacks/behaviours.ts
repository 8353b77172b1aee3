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

/** Limits of the gateways under test, in milliseconds: `callbackMs`, and `firstByteMs` where that is what bounds a function. */
export const callbackMs = 25
export const firstByteMs = 200
/** When a late promise resolves: after both limits, also where the event loop was blocked and many timers are due at once. */
const lateSteps = 6
const stepMs = 80

async function lateness(): Promise<void> {
  for (let step = 0; step < lateSteps; step++) await new Promise((resolve) => setTimeout(resolve, stepMs))
}

/** Until every late promise of a cell has resolved, and what follows from it is done. */
export const afterLateness = async (): Promise<void> => {
  await lateness()
  await new Promise((resolve) => setTimeout(resolve, 2 * stepMs))
}

/** One subject with one behaviour. */
export interface Cell {
  readonly behaviour: Behaviour
  /** The value, for the behaviours that return or resolve to garbage. */
  readonly garbage: unknown
  /** The function's answer has to count: it is a good one, and a promise is allowed. */
  readonly works: boolean
  /** The function with the behaviour in place of its own; it is called for what it should return only where that is used. */
  misbehave<A extends unknown[]>(good: (...args: A) => unknown): (...args: A) => never
}

/** A function that a host supplies, and how a gateway with it is tried. */
export interface Subject {
  readonly name: string
  /** A promise is awaited; else its value must not count. */
  readonly awaited: boolean
  /** Values that must not be taken for an answer. */
  readonly garbage: readonly unknown[]
  /** Tries a gateway and resolves to what was wrong; an empty list is good. */
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

/** Every cell of a subject: one for each behaviour, and for each value of garbage. */
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
