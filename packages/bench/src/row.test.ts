import { describe, expect, it } from 'vitest'
import { cellsOf, createRow, disturbed, type Measured, publishedCellsOf, steadier, worstOf } from './row.js'

const rowOf = (rounds: number[], bar: Measured['bar'], more: Partial<Measured> = {}) =>
  createRow({ work: 'work', ours: '1 /s', rounds, ...(bar === undefined ? {} : { bar }), ...more })

describe('verdict of a row', () => {
  it.each<[string, number[], Measured['bar'], string]>([
    ['passes by its median', [0.7, 0.81, 0.82, 0.83, 0.9], { least: 0.8 }, 'pass'],
    ['misses by its median', [0.7, 0.71, 0.72, 0.73, 0.9], { least: 0.8 }, 'MISSED'],
    ['is unclear if rounds contradict each other', [0.5, 0.6, 0.82, 1, 1.1], { least: 0.8 }, 'too noisy to tell'],
    ['is clear if rounds differ but agree about the bar', [0.9, 1, 1.5, 1.8, 2], { least: 0.8 }, 'pass'],
    ['is clear close to the bar if rounds agree', [0.79, 0.79, 0.81, 0.82, 0.82], { least: 0.8 }, 'pass'],
    ['supports a maximum as the bar', [1.1, 1.2, 1.3, 1.2, 1.1], { most: 1.3 }, 'pass'],
    ['is empty without a bar', [1, 2, 3], undefined, ''],
  ])('%s', (_, rounds, bar, verdict) => {
    expect(rowOf(rounds, bar).verdict).toBe(verdict)
  })

  it('is unclear if the row was disturbed', () => {
    expect(rowOf([1, 1, 1], { least: 0.8 }, { disturbed: true }).verdict).toBe('too noisy to tell')
    expect(disturbed(rowOf([70, 71], { most: 60 }, { absolute: true })).verdict).toBe('too noisy to tell')
    expect(disturbed(rowOf([50, 51], { most: 60 }, { absolute: true })).verdict).toBe('pass')
    expect(disturbed(rowOf([0.7, 0.7], { least: 0.8 })).verdict).toBe('MISSED')
  })
})

describe('row whose compared side varied', () => {
  const bar = { least: 0.8 }
  const moved = rowOf([0.7, 0.7, 0.7], bar, { reference: [100, 100, 140] })
  const steady = rowOf([0.7, 0.7, 0.7], bar, { reference: [100, 104, 100] })

  it('gets no verdict', () => {
    expect(moved.verdict).toBe('too noisy to tell')
    expect(steady.verdict).toBe('MISSED')
  })

  it('is published without figures', () => {
    expect(publishedCellsOf(moved)).toMatchObject({
      Modelgate: 'not published',
      'compared with': 'varied by 40 % between rounds',
      measured: '',
      verdict: '**too noisy to tell**',
    })
    expect(publishedCellsOf(steady)).toEqual(cellsOf(steady))
  })

  it('is published without figures if other work used its CPU', () => {
    const row = rowOf([1, 1, 1], { least: 0.8 }, { disturbed: true })
    expect(publishedCellsOf(row)).toMatchObject({
      Modelgate: 'not published',
      'compared with': 'other work used its CPU',
      measured: '',
    })
  })
})

it('the steadier of two measurements of a row is kept, whatever the values', () => {
  const unsteady = rowOf([0.9, 0.9, 0.9], { least: 0.8 }, { reference: [1, 1.4, 1, 1.4] })
  const steady = rowOf([0.7, 0.7, 0.7], { least: 0.8 }, { reference: [1, 1.01, 1, 1.01] })
  expect(steadier(unsteady, [steady])).toBe(steady)
  expect(steadier(steady, [unsteady])).toBe(steady)
  expect(steadier(unsteady, [])).toBe(unsteady)
})

describe('worst of several rows', () => {
  it('is a certain miss, or else the one furthest from the bar', () => {
    const most = { most: 2 }
    const missed = rowOf([2.1, 2.1, 2.1], most)
    const unclear = rowOf([1, 5, 9], most)
    const passed = [rowOf([1, 1], most), rowOf([1.5, 1.5], most)]
    expect(worstOf([...passed, unclear, missed])).toBe(missed)
    expect(worstOf([...passed, unclear])).toBe(unclear)
    expect(worstOf(passed)).toBe(passed[1])
    expect(worstOf([rowOf([3, 3], { least: 2 }), rowOf([2.5, 2.5], { least: 2 })])?.value).toBe(2.5)
  })
})
