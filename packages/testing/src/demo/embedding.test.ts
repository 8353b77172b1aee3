import { describe, expect, it } from 'vitest'
import { demoDimensions, demoEmbedding, demoRerank, similarity } from './embedding.ts'

describe('demo embeddings', () => {
  it.each([
    ['The cat sleeps on the sofa', 'A cat was sleeping on my sofa', 'Interest rates rose again in March'],
    ['How do I reset my password?', 'resetting a forgotten password', 'The train to Lyon leaves at noon'],
    ['Der Hund bellt laut', 'Ein Hund, der bellt', 'Quantum computers need cold'],
  ])('place %j closer to %j than to %j', (text, near, far) => {
    const own = demoEmbedding(text)
    expect(similarity(own, demoEmbedding(near))).toBeGreaterThan(similarity(own, demoEmbedding(far)) + 0.2)
  })

  it('are the same for the same text, and independent of its length', () => {
    for (const text of ['hello world', '', '!?', '東京', 'x'.repeat(5000)]) {
      const vector = demoEmbedding(text)
      expect(vector).toEqual(demoEmbedding(text))
      expect(vector).toHaveLength(demoDimensions)
      expect(Math.hypot(...vector)).toBeCloseTo(1, 5)
      expect(vector).toEqual([...Float32Array.from(vector)])
    }
  })

  it.each([1, 3, 1536, 3072])('have %i dimensions on request', (dimensions) => {
    expect(demoEmbedding('hello', dimensions)).toHaveLength(dimensions)
  })
})

describe('demo rerank', () => {
  it('ranks the best match for the query first', () => {
    const documents = [
      'Paris is the capital of France.',
      'Bananas are yellow.',
      'The capital of the United States is Washington.',
    ]
    const ranks = demoRerank('What is the capital of the United States?', documents)
    expect(ranks.map(({ index }) => index)).toEqual([2, 0, 1])
    for (const { score } of ranks) expect(score >= 0 && score <= 1).toBe(true)
  })

  it('keeps the order of equal documents', () => {
    expect(demoRerank('q', ['same', 'same', 'same']).map(({ index }) => index)).toEqual([0, 1, 2])
  })
})
