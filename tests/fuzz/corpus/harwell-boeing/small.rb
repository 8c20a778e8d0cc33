Rutherford-Boeing                                                       RB      
             3             1             1             1
iua                        3             3             4             0
(4I3)           (4I3)           (4I3)               
  1  3  4  5
  1  3  2  3
  1 -2  3  4
