// Reference data: Table 3 of "uFLIP: Understanding Flash IO Patterns" (Bouganim, Jónsson, Bonnet,
// CIDR 2009), as printed. IOs of 32 KB; response times in ms; an empty Pause means no effect.

/** A drive of the paper. */
export interface PaperDrive {
  name: string;
  /** Its type in Table 2. */
  type: string;
  /** Response times of SR, RR, SW, RW in ms. */
  basic: [string, string, string, string];
  /** Pause, Locality, Partitioning, Reverse, In-place, Large Incr. */
  rest: [string, string, string, string, string, string];
}

/** The seven drives of the paper, best first. */
export const PAPER_DRIVES: readonly PaperDrive[] = [
  {
    name: 'Memoright',
    type: 'SSD',
    basic: ['0.3', '0.4', '0.3', '5'],
    rest: ['5 ms', '8 MB (=)', '8 (=)', '=', '=', '×4'],
  },
  {
    name: 'Mtron',
    type: 'SSD',
    basic: ['0.4', '0.5', '0.4', '9'],
    rest: ['9 ms', '8 MB (×2)', '4 (×1.5)', '=', '=', '×2'],
  },
  {
    name: 'Samsung',
    type: 'SSD',
    basic: ['0.5', '0.5', '0.6', '18'],
    rest: ['no effect', '16 MB (×1.5)', '4 (×2)', '×1.5', '×0.6', '×2'],
  },
  {
    name: 'Transcend Module',
    type: 'IDE',
    basic: ['1.2', '1.3', '1.7', '18'],
    rest: ['no effect', '4 MB (×2)', '4 (×2)', '×3', '×2', '×2'],
  },
  {
    name: 'Transcend MLC',
    type: 'SSD',
    basic: ['1.4', '3.0', '2.6', '233'],
    rest: ['no effect', '4 MB (=)', '4 (×2)', '×2', '×2', '×1'],
  },
  {
    name: 'Kingston DTHX',
    type: 'USB',
    basic: ['1.3', '1.5', '1.8', '270'],
    rest: ['no effect', '16 MB (×20)', '8 (×20)', '×7', '×6', '×1'],
  },
  {
    name: 'Kingston DTI',
    type: 'USB',
    basic: ['1.9', '2.2', '2.9', '256'],
    rest: ['no effect', 'No', '4 (×5)', '×8', '×40', '×1'],
  },
];
