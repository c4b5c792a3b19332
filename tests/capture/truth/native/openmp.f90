! Fortran with OpenMP: filter and back projection of a made-up sinogram, and a sequential loop.
program openmp
  use iso_c_binding
  implicit none
  interface
    subroutine truth_begin(phase) bind(c)
      import
      character(kind=c_char), intent(in) :: phase(*)
    end subroutine
    subroutine truth_end(phase) bind(c)
      import
      character(kind=c_char), intent(in) :: phase(*)
    end subroutine
  end interface
  integer, parameter :: n = 256, views = 180
  real(8) :: image(n, n), sino(n, views), filtered(n, views), c, s, t, x
  integer :: i, j, k, m, round
  image = 0
  do k = 1, views
    do i = 1, n
      sino(i, k) = exp(-((i - n / 2) / 40.0d0)**2)
    end do
  end do
  do round = 1, 8
    call truth_begin("filter" // c_null_char)
    !$omp parallel do private(i, m, t)
    do k = 1, views
      do i = 1, n
        t = 0
        do m = 1, n ! truth: filter
          t = t + sino(m, k) * cos(0.01d0 * (i - m)) ! truth: filter
        end do
        filtered(i, k) = t / n
      end do
    end do
    !$omp end parallel do
    call truth_end("filter" // c_null_char)
    call truth_begin("backproject" // c_null_char)
    !$omp parallel do private(i, k, c, s, t, m)
    do j = 1, n
      do i = 1, n
        do k = 1, views ! truth: backproject
          c = cos(k * 0.017453d0); s = sin(k * 0.017453d0) ! truth: backproject
          t = (i - n / 2) * c + (j - n / 2) * s + n / 2 ! truth: backproject
          m = min(max(int(t), 1), n - 1) ! truth: backproject
          image(i, j) = image(i, j) + filtered(m, k) * (m + 1 - t) + filtered(m + 1, k) * (t - m) ! truth: backproject
        end do
      end do
    end do
    !$omp end parallel do
    call truth_end("backproject" // c_null_char)
  end do
  call truth_begin("alone" // c_null_char)
  x = 1
  do i = 1, 300000000 ! truth: alone
    x = x * 1.0000001d0 + 1d-9 ! truth: alone
  end do
  call truth_end("alone" // c_null_char)
  print '(es12.4, es12.4)', image(n / 3, n / 2), x
end program
