import type { ModelRun, Usage } from '../../../formats/ir.ts'

/** Requests with a larger input are summed in steps, because prices may depend on the size of a request. */
const summedInput = 32_000
/** Prices of long inputs begin at multiples of this. */
const inputStep = 4_000

const stepOf = (input: number): number => (input <= summedInput ? 0 : Math.ceil(input / inputStep))

type Counts = Record<string, number>

interface Sum {
  readonly model: string | undefined
  readonly input: Counts & { total: number }
  readonly output: Counts & { total: number }
  largestInput: number
}

/** Sums the usage of the requests of a batch for one model. */
export class UsageSum {
  readonly #sums = new Map<string, Sum>()
  readonly #units: Counts = {}

  add({ input, output, billed }: Usage): void {
    for (const run of billed?.runs ?? [{ input, output }]) this.#addRun(run)
    addCounts(this.#units, { ...billed?.units })
  }

  #addRun({ model, input, output }: ModelRun): void {
    const key = `${stepOf(input.total)} ${model ?? ''}`
    const sum = this.#sums.get(key) ?? { model, input: { total: 0 }, output: { total: 0 }, largestInput: 0 }
    this.#sums.set(key, sum)
    addCounts(sum.input, input)
    addCounts(sum.output, output)
    sum.largestInput = Math.max(sum.largestInput, input.total)
  }

  /** Returns the sum, at the tier of batches. */
  total(): Usage {
    const input: Sum['input'] = { total: 0 }
    const output: Sum['output'] = { total: 0 }
    const runs = [...this.#sums.values()].map((sum): ModelRun => {
      addCounts(input, sum.input)
      addCounts(output, sum.output)
      const { model, largestInput } = sum
      return { ...(model === undefined ? {} : { model }), input: sum.input, output: sum.output, largestInput }
    })
    const units = Object.keys(this.#units).length === 0 ? {} : { units: this.#units }
    return { input, output, billed: { tier: 'batch', runs, ...units } }
  }
}

function addCounts(sum: Counts, counts: { readonly [name: string]: number | undefined }): void {
  for (const [name, count] of Object.entries(counts)) if (count !== undefined) sum[name] = (sum[name] ?? 0) + count
}
